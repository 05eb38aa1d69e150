import { afterAll, beforeAll } from "vitest";
import { etcdMissing, startEtcd, type Etcd } from "@leasehold/test-kit/backends/etcd";
import { runConformance, runConformanceUnless, SOME_ROUNDS } from "@leasehold/test-kit/conformance/run-conformance";
import { EtcdPlace } from "./etcd-place.ts";

await runConformanceUnless(etcdMissing(), "etcd", () => {
  let etcd: Etcd;
  let places = 0;
  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd.stop());
  runConformance(
    {
      name: "etcd",
      // The clocks run and are moved as well. The long lease keeps every case shorter than a lease on a busy machine.
      leaseMs: 60_000,
      rounds: SOME_ROUNDS,
      // acquire: the lease, then the key. renew: a keep-alive, then a read of the key. release: the key, then the lease.
      requests: { acquire: 2, renew: 2, release: 2, look: 1, list: [1, 2] },
      lacks: {
        transfer: "the next in the queue leads, and no other can be named",
        reservation: "nothing is left of an election that nobody is a candidate of",
        record: "nothing is left of an election that nobody is a candidate of; terms are etcd's revisions",
      },
      skips: {
        "list-foreign": "a key that is no candidate's may be any program's, and is no election",
        "names-within-names": "as in Go, whose candidates lie at the election's name, a slash, and their lease",
      },
      async open() {
        places += 1;
        return await EtcdPlace.open(etcd, `place-${places}/`);
      },
    },
    { concurrently: true },
  );
});
