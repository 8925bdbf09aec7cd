/** The chart alone in a page that placelab.export has written, which contains the data; in other pages this does nothing. */
import { render } from "./connect.ts";
import { play } from "./player.ts";

void play(render);
