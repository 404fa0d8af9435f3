declare namespace Cloudflare {
  interface Env extends ProductEnv {
    NAMING_KEY: string;
    SEALING_KEY: string;
    JWT_SECRET: string;
    TEST_MIGRATIONS: import("cloudflare:test").D1Migration[];
  }
  interface GlobalProps {
    mainModule: typeof import("../../src/worker.ts");
  }
}

type ProductEnv = import("../../src/env.ts").Env;
