import { setTimeout as delay } from "node:timers/promises";
import DynamoDB from "aws-sdk/clients/dynamodb.js";
import endOfSupport from "aws-sdk/lib/maintenance_mode_message.js";
import { FailOpen, type Lock } from "dynamodb-lock-client";
import type { Adapter } from "./contender.ts";
import { LOCK_KEY, LOCK_TABLE } from "./lock-table.ts";

// Otherwise its SDK would warn in every process that it is no longer supported.
Object.assign(endOfSupport, { suppress: true });

/** The wait before it asks for the lock again after a failure. */
const AGAIN_MS = 1_000;

/** Its "fail open" locks with heartbeats. The lock's event `error` ends a term, because no heartbeats follow it. */
export const dynamodbLockClient: Adapter = {
  connect(host, leaseDurationMs) {
    const credentials = { accessKeyId: "any", secretAccessKey: "any" };
    const dynamodb = new DynamoDB.DocumentClient({ endpoint: `http://${host}`, region: "eu-central-1", ...credentials });
    const locks = new FailOpen({
      dynamodb,
      lockTable: LOCK_TABLE,
      partitionKey: LOCK_KEY,
      heartbeatPeriodMs: leaseDurationMs / 3,
      leaseDurationMs,
      retryCount: Number.MAX_SAFE_INTEGER,
    });
    return Promise.resolve({
      campaign(election, changed) {
        let isStopped = false;
        let held: Lock | undefined;
        const again = (): void => void delay(AGAIN_MS).then(begin);
        const begin = (): void => {
          if (isStopped) return;
          locks.acquireLock(election, (error, lock) => {
            if (error) return again();
            if (isStopped) return lock.release(() => undefined);
            held = lock;
            changed();
            lock.on("error", () => {
              held = undefined;
              changed();
              again();
            });
          });
        };
        begin();
        return {
          leads: () => held !== undefined,
          async stop() {
            isStopped = true;
            const last = held;
            held = undefined;
            await new Promise<void>((resolve) => (last ? last.release(() => resolve()) : resolve()));
          },
        };
      },
      close: () => Promise.resolve(),
    });
  },
};
