import { writeSync } from "node:fs";
import { Socket } from "node:net";
import { uptime } from "node:os";
import { DONE, type GuardOrder } from "./guard-order.ts";
import { machineNow, untilMs } from "./machine-clock.ts";

/** The file descriptor of the pipe to the backup guard. */
const BACKUP = 3;
/** With more unread bytes than this, the backup guard counts as frozen. It then leaves once it runs: its last order is old. */
const MOST_UNREAD_BYTES = 4_096;

/** Sends orders from the guard to the backup guard. No method waits for an answer or for the reader. */
export class BackupOrders {
  #pipe: Socket | undefined;

  constructor() {
    try {
      this.#pipe = new Socket({ fd: BACKUP, readable: false, writable: true }).on("error", () => {});
      this.#pipe.unref();
    } catch {
      // There is no backup guard.
    }
  }

  /** Sends the parts of an order that the backup guard needs. */
  give({ termId, leader, killAt }: GuardOrder): void {
    if (!this.#pipe) return;
    if (this.#pipe.writableLength > MOST_UNREAD_BYTES) {
      this.#pipe.end(`${DONE}\n`);
      this.#pipe = undefined;
      return;
    }
    const leftMs = untilMs(killAt, machineNow());
    const [until, left] = [uptime() * 1_000 + leftMs, leftMs].map((ms) => Math.max(Math.floor(ms / 10), 0));
    this.#pipe.write(`order ${termId} ${until} ${left}${leader ? ` ${leader.pid}` : ""} .\n`);
  }

  /** Ends the backup guard, so that it kills no group. After the command's end, another group may get the same number. */
  end(): void {
    if (!this.#pipe) return;
    try {
      writeSync(BACKUP, `${DONE}\n`);
    } catch {
      // The backup guard has ended, or does not read.
    }
  }
}
