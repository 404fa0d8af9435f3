/** Query parameters of the ledger's endpoints: a shard, and whole numbers from 0. */

export type Query<Name extends string> = { shard: string } & Record<Name, number>;

/** Null: a parameter is missing, unknown, given twice or not what it has to be. `numbers` has a default for each, null where it must be given. */
export function readQuery<Name extends string>(
  url: URL,
  shards: readonly string[],
  numbers: Readonly<Record<Name, number | null>>,
): Query<Name> | null {
  const shard = url.searchParams.get("shard") ?? "";
  const names = Object.keys(numbers) as Name[];
  const given = [...url.searchParams.keys()];
  const isKnown = given.every((name) => name === "shard" || Object.hasOwn(numbers, name));
  if (!isKnown || new Set(given).size < given.length || !shards.includes(shard)) return null;
  const values = names.map((name) => [name, readNumber(url.searchParams.get(name), numbers[name])] as const);
  if (values.some(([, value]) => value === null)) return null;
  return { shard, ...(Object.fromEntries(values) as Record<Name, number>) };
}

function readNumber(given: string | null, fallback: number | null): number | null {
  if (given === null) return fallback;
  return /^(0|[1-9][0-9]{0,14})$/.test(given) ? Number(given) : null;
}
