import { Elector, MemoryLeaseStore } from "@leasehold/core";

const store = new MemoryLeaseStore();
const elector = new Elector({ store, election: "nightly-billing" });
const outcome = await elector.tryRun(async (leadership) => `done in term ${leadership.term}`);
console.log(outcome); // { elected: true, term: 1, result: 'done in term 1' }
