/** The places that were visited, in order: two numbers each, the visit that led there, and by which move. */

const FIRST = 1 << 12;

export class Visits {
  count = 0;
  key = new Uint32Array(FIRST);
  outside = new Uint32Array(FIRST);
  from = new Uint32Array(FIRST);
  move = new Uint16Array(FIRST);
  /** Visits plus one by their place's hash; half of it is empty at least. */
  #slots = new Uint32Array(FIRST * 4);

  has(key: number, outside: number): boolean {
    return this.#slots[this.#find(key, outside)] !== 0;
  }

  /** False where it has been visited before. */
  add(key: number, outside: number, from: number, move: number): boolean {
    const slot = this.#find(key, outside);
    if (this.#slots[slot] !== 0) return false;
    if (this.count === this.key.length) this.#grow();
    this.key[this.count] = key;
    this.outside[this.count] = outside;
    this.from[this.count] = from;
    this.move[this.count] = move;
    this.count += 1;
    this.#slots[slot] = this.count;
    if (this.count * 2 > this.#slots.length) this.#spread();
    return true;
  }

  #find(key: number, outside: number): number {
    const mask = this.#slots.length - 1;
    let slot = hashOf(key, outside) & mask;
    for (let visit = this.#slots[slot] ?? 0; visit !== 0; visit = this.#slots[slot] ?? 0) {
      if (this.key[visit - 1] === key && this.outside[visit - 1] === outside) return slot;
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  #grow(): void {
    const length = this.key.length * 2;
    const wider = (from: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> => {
      const to = new Uint32Array(length);
      to.set(from);
      return to;
    };
    [this.key, this.outside, this.from] = [wider(this.key), wider(this.outside), wider(this.from)];
    const move = new Uint16Array(length);
    move.set(this.move);
    this.move = move;
  }

  #spread(): void {
    this.#slots = new Uint32Array(this.#slots.length * 4);
    const mask = this.#slots.length - 1;
    for (let visit = 0; visit < this.count; visit += 1) {
      let slot = hashOf(this.key[visit] ?? 0, this.outside[visit] ?? 0) & mask;
      while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
      this.#slots[slot] = visit + 1;
    }
  }
}

function hashOf(key: number, outside: number): number {
  let hash = Math.imul(key, 0x9e3779b1) ^ Math.imul(outside + 1, 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}
