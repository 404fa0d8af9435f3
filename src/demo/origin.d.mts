/** Starts the demo origin: see `origin.mjs`. */
export function startDemoOrigin(where?: {
  port?: number;
  host?: string;
}): Promise<{ url: string; close: () => Promise<void> }>;
