/** What the gateway will be given: see `settings.mjs`. */
export type Settings = {
  kind: "read";
  file: string;
  services: { binding: string; service: string }[];
  vars: Record<string, { from: "secrets" | "config"; value: unknown }>;
};
export function readSettings(
  args: readonly string[],
): Promise<Settings | { kind: "failed"; message: string }>;
export function readFiles(args: readonly string[]): Promise<Settings>;
export const DEMO_ROUTES: readonly Record<string, unknown>[];
export function hasRoutes(args: readonly string[], settings: Settings): boolean;
export function findOrigin(
  args: readonly string[],
  settings: Settings,
):
  | { kind: "binding"; service: string; from: string }
  | { kind: "url"; url: string; from: string }
  | { kind: "none" };
