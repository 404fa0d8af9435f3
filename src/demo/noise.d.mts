/** Which of wrangler's lines are left out: see `noise.mjs`. */
export function isNoise(line: string): boolean;
export function dropNoise(text: string): string;
