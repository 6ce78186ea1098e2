// graphile-worker. BENCH_BATCHED=1: as its performance page says (local queue of 500, batched completion);
// otherwise with its defaults.
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";
import { Noted, instants, main, now } from "./part.mjs";

const batched = process.env.BENCH_BATCHED === "1";
const logger = new Logger(() => () => {});
const best = {
  concurrency: 24,
  pollInterval: 100,
  preset: { worker: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
};

const open = (where) => new pg.Pool({ connectionString: where, max: 10 });

async function utils(where) {
  const found = await makeWorkerUtils({ pgPool: open(where), logger });
  await found.migrate();
  return found;
}

async function enter(to, due, at) {
  for (let from = 0; from < due.length; from += 1000) {
    await to.addJobs(due.slice(from, from + 1000).map((each) => (
      { identifier: "noop", payload: { due: each }, ...(at ? { runAt: new Date(1000 * each) } : {}) }
    )));
  }
}

async function work(where, noted) {
  const task = (payload) => { noted.start(payload.due); };
  await run({ pgPool: open(where), taskList: { noop: task }, logger, noHandleSignals: true, ...(batched ? best : {}) });
  await noted.done;
}

await main({
  async one(where, count) {
    const to = await utils(where);
    const began = now();
    for (let at = 0; at < count; at += 1) await to.addJob("noop", { due: 0 });
    return { seconds: now() - began };
  },
  async many(where, count) {
    const to = await utils(where);
    const began = now();
    await enter(to, new Array(count).fill(0), false);
    return { seconds: now() - began };
  },
  async drain(where, count) {
    await enter(await utils(where), new Array(count).fill(0), false);
    const noted = new Noted(count);
    await work(where, noted);
    return { seconds: noted.endedAt - noted.beganAt };
  },
  async late(where, count, rate) {
    const to = await utils(where);
    await enter(to, instants(count, rate, count / 10000), true);
    const noted = new Noted(count);
    await work(where, noted);
    return noted.percentiles();
  },
});
