/** The Gantt chart of a schedule, an anywidget view. */
import { render } from "./connect.ts";
import { savePicture } from "./hands/picture.ts";
import "./page.ts"; // such a page contains this module

export { KEY_HELP } from "./hands/keyboard.ts"; // the explorer's help lists it
export default {
  render: (context: Parameters<typeof render>[0]) => render({ ...context, save: savePicture }),
};
