/** What a start reads of its arguments: see `arguments.mjs`. */
export function readOption(args: readonly string[], names: readonly string[]): string | null;
export function readOptions(args: readonly string[], names: readonly string[]): string[];
export function readVar(args: readonly string[], name: string): string | null;
export function findMistake(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): string | null;
