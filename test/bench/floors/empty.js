/** The least any Worker can do: a constant answer, the request's body unread. */
const ANSWER = JSON.stringify({ id: "pay_0000000000000000", pad: "x".repeat(73) });

export default {
  fetch() {
    return new Response(ANSWER, { headers: { "content-type": "application/json" } });
  },
};
