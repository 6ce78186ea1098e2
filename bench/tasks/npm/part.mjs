// What the contestants of npm share: the same words as `bench/tasks/part.py`.
export const now = () => (performance.timeOrigin + performance.now()) / 1000;

export function instants(count, rate, enteredIn) {
  const first = Math.floor(now() + 4 + enteredIn);
  return Array.from({ length: count }, (_, at) => first + (rate ? at / rate : 0));
}

export class Noted {
  constructor(count) {
    this.count = count;
    this.late = [];
    this.done = new Promise((resolve) => { this.resolve = resolve; });
  }
  start(due = 0) {
    const at = now();
    if (!this.late.length) this.beganAt = at;
    this.late.push(at - due);
    if (this.late.length === this.count) { this.endedAt = at; this.resolve(); }
  }
  percentiles() {
    const sorted = Float64Array.from(this.late).sort();
    const of = (part) => 1000 * sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
    return { p50: of(0.5), p99: of(0.99), most: of(1) };
  }
}

export async function main(works) {
  const [work, where, count, rate] = process.argv.slice(2);
  const found = works[work] ? await works[work](where, Number(count), Number(rate || 0)) : { cannot: "has nothing like it" };
  process.stdout.write(`\n${JSON.stringify(found)}\n`, () => process.exit(0));
}
