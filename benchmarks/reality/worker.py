"""Run one TensorFlow worker: a process with one device and one thread, which ends when its standard input ends.

python worker.py INDEX HOST:PORT,HOST:PORT,…
"""

from __future__ import annotations

import os
import sys

os.environ.update(CUDA_VISIBLE_DEVICES="", TF_ENABLE_ONEDNN_OPTS="0", TF_CPP_MIN_LOG_LEVEL="3")


def main(index: int, hosts: list[str]) -> None:
    import tensorflow.compat.v1 as tf

    config = tf.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1, device_count={"CPU": 1})
    server = tf.train.Server({"worker": hosts}, job_name="worker", task_index=index, config=config)
    print("ready", flush=True)
    sys.stdin.read()
    del server
    os._exit(0)  # there is no other way to stop a server


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2].split(","))
