# The explorer in JupyterLab, for a user without rights, in a container that writes nowhere but into the volume /keep:
#
#     docker build --tag placelab .
#     docker run --rm --read-only --volume placelab:/keep --publish 127.0.0.1:8888:8888 placelab
#
# A new volume begins with what the image has there: the tour, and the compiled kernels. tests/house/test_container.py runs the
# command below with these variables, with no network, on a file system that is read-only but for one folder.
FROM python:3.12-slim

COPY . /source
RUN pip install --no-cache-dir --constraint /source/constraints.txt '/source[all]' && rm -r /source

ENV JUPYTER_CONFIG_DIR=/keep/jupyter/config \
    JUPYTER_DATA_DIR=/keep/jupyter/data \
    JUPYTER_RUNTIME_DIR=/keep/jupyter/runtime \
    IPYTHONDIR=/keep/ipython \
    NUMBA_CACHE_DIR=/keep/kernels \
    TMPDIR=/keep/tmp

RUN useradd --uid 1000 --no-create-home placelab && install --directory --owner placelab /keep /keep/tmp
USER placelab
WORKDIR /keep
RUN placelab compile \
    && python -c "from pathlib import Path; from placelab.app.cli.opening_commands import tour_in; tour_in(Path('/keep'))"
VOLUME /keep
EXPOSE 8888
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--port=8888", "--no-browser", "--LabApp.default_url=/lab/tree/00_tour.ipynb"]
