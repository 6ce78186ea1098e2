// BullMQ on Redis, 100 at once; finished jobs are removed, as its documentation advises.
import { Queue, Worker } from "bullmq";
import { Noted, instants, main, now } from "./part.mjs";

const options = { removeOnComplete: true, removeOnFail: true };

function connection(where) {
  const url = new URL(where);
  return { host: url.hostname, port: Number(url.port), maxRetriesPerRequest: null };
}

const queue = (where) => new Queue("bench", { connection: connection(where), defaultJobOptions: options });

async function enter(to, due, at) {
  for (let from = 0; from < due.length; from += 1000) {
    await to.addBulk(due.slice(from, from + 1000).map((each) => (
      { name: "noop", data: { due: each }, ...(at ? { opts: { delay: Math.max(0, 1000 * (each - now())) } } : {}) }
    )));
  }
}

async function work(where, noted) {
  new Worker("bench", async (job) => { noted.start(job.data.due); }, { connection: connection(where), concurrency: 100 });
  await noted.done;
}

await main({
  async one(where, count) {
    const to = queue(where);
    const began = now();
    for (let at = 0; at < count; at += 1) await to.add("noop", { due: 0 });
    return { seconds: now() - began };
  },
  async many(where, count) {
    const to = queue(where);
    const began = now();
    await enter(to, new Array(count).fill(0), false);
    return { seconds: now() - began };
  },
  async drain(where, count) {
    await enter(queue(where), new Array(count).fill(0), false);
    const noted = new Noted(count);
    await work(where, noted);
    return { seconds: noted.endedAt - noted.beganAt };
  },
  async late(where, count, rate) {
    const noted = new Noted(count);
    await enter(queue(where), instants(count, rate, count / 5000), true);
    await work(where, noted);
    return noted.percentiles();
  },
});
