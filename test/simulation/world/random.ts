/** Seeded random numbers (sfc32): the only source of chance in a simulated run. */

export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  /** Equal seeds give equal numbers; neighbouring seeds give unrelated ones. */
  constructor(seed: number, use: number) {
    this.#a = seed | 0;
    this.#b = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) | 0;
    this.#c = Math.imul(use + 1, 0xc2b2ae35) | 0;
    for (let i = 0; i < 15; i++) this.next();
  }

  /** From 0 up to but not including 1. */
  next(): number {
    return this.bits() / 4_294_967_296;
  }

  /** 32 random bits as a whole number. */
  bits(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    return sum >>> 0;
  }

  /** From 0 up to but not including `count`. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  /** Whole, from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return probability > 0 && this.next() < probability;
  }

  pick<T>(list: readonly [T, ...T[]]): T {
    return list[this.below(list.length)] ?? list[0];
  }
}
