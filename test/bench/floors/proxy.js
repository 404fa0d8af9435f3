/** A proxy that touches neither body: the request goes out as it came, the answer is handed back as it is. */
export default {
  fetch(request, env) {
    const { pathname, search } = new URL(request.url);
    return fetch(env.ORIGIN_URL + pathname + search, request);
  },
};
