/** A front end in a page of its own: html-manager's widgets, and a kernel of a Jupyter server. Built by esbuild for the test. */
import { KernelManager, ServerConnection } from "@jupyterlab/services";

/** Starts a kernel, runs a cell in it, and shows the widget that the cell shows in `element`. */
window.showCell = async (settings, name, code, element) => {
  const [{ HTMLManager }, { shims }, { requireLoader }] = await modules();
  const kernels = new KernelManager({ serverSettings: ServerConnection.makeSettings(settings) });
  const kernel = await kernels.startNew({ name });
  window.kernel = kernel;

  class Manager extends HTMLManager {
    async _create_comm(target, id, data, metadata, buffers) {
      const comm = kernel.createComm(target, id);
      if (data || metadata) comm.open(data, metadata, buffers);
      return new shims.services.Comm(comm);
    }
  }
  const manager = new Manager({ loader: requireLoader });
  kernel.registerCommTarget(manager.comm_target_name, (comm, message) =>
    manager.handle_comm_open(new shims.services.Comm(comm), message),
  );
  const future = kernel.requestExecute({ code });
  future.onIOPub = async ({ header, content }) => {
    if (header.msg_type === "error") throw new Error(content.traceback.join("\n"));
    const view = content.data?.["application/vnd.jupyter.widget-view+json"];
    if (!view) return;
    const model = await manager.get_model(view.model_id);
    await manager.display_view(manager.create_view(model), element);
  };
  await future.done;
};

const modules = () =>
  new Promise((found, failed) => {
    window.requirejs(
      ["@jupyter-widgets/html-manager", "@jupyter-widgets/base", "@jupyter-widgets/html-manager/dist/libembed-amd"],
      (...all) => found(all),
      failed,
    );
  });
