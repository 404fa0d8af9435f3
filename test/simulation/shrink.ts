/** Makes a failing run small: with fewer clients, less of a ledger, fewer kinds of faults, and weaker ones, as long as it fails the same way. */

import { SHARE, type Share, type Simulator } from "./simulate.ts";
import { type Damping, DEEDS, FAULTS } from "./world/faults.ts";

export type Small = { damping: Damping; share: Share; tries: number };

/** Null: the run does not fail. */
export function shrink(simulator: Simulator, seed: number): Small | null {
  const first = simulator.run(seed).violation;
  if (first === null) return null;
  let tries = 0;
  let damping: Damping = { without: new Set(), factor: 1 };
  let share = SHARE;
  const failsWith = (next: Damping, how: Share): boolean => {
    tries += 1;
    return simulator.run(seed, { damping: next, share: how }).violation?.invariant === first.invariant;
  };
  for (const clients of [1, 2]) {
    if (failsWith(damping, { ...share, clients })) {
      share = { ...share, clients };
      break;
    }
  }
  if (failsWith(damping, { ...share, ledger: 0 })) share = { ...share, ledger: 0 };
  for (const name of [...DEEDS, ...FAULTS]) {
    const next = { ...damping, without: new Set([...damping.without, name]) };
    if (failsWith(next, share)) damping = next;
  }
  for (const factor of [0.1, 0.3, 0.6]) {
    const next = { ...damping, factor };
    if (!failsWith(next, share)) continue;
    damping = next;
    break;
  }
  return { damping, share, tries };
}
