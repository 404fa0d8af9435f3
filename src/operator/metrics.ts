/** `GET /metrics`: OpenMetrics text of what this isolate has counted. */

export type Metrics = {
  isolate: string;
  answers: readonly { route: string; mark: string; count: number }[];
  cacheBytes: number;
};

function writeMetrics({ isolate, answers, cacheBytes }: Metrics): string {
  const lines = [
    "# TYPE oncegate_answers counter",
    "# HELP oncegate_answers Answers since this isolate started, by route and Idempotency-Status.",
    ...answers.map(
      ({ route, mark, count }) =>
        `oncegate_answers_total{isolate="${isolate}",route="${route}",status="${mark}"} ${count}`,
    ),
    "# TYPE oncegate_cache_bytes gauge",
    "# UNIT oncegate_cache_bytes bytes",
    "# HELP oncegate_cache_bytes Settled answers held in this isolate's memory.",
    `oncegate_cache_bytes{isolate="${isolate}"} ${cacheBytes}`,
    "# EOF",
  ];
  return `${lines.join("\n")}\n`;
}

export function answerMetrics(metrics: Metrics): Response {
  return new Response(writeMetrics(metrics), {
    headers: {
      "Content-Type": "application/openmetrics-text; version=1.0.0; charset=utf-8",
      "Cache-Control": "no-store",
    },
  });
}
