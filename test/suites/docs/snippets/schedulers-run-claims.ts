import type { LeaseStore } from "@leasehold/core";
import { RunClaims } from "@leasehold/schedulers/node-cron";
import { schedule } from "node-cron";

declare const store: LeaseStore;
declare const run: () => Promise<void>;

const runCoordinator = new RunClaims({ store });
schedule("0 3 * * *", run, { name: "close-the-books", distributed: true, runCoordinator });
