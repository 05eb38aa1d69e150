import { writeSync } from "node:fs";
import { Socket } from "node:net";
import { uptime } from "node:os";
import { DONE, type GuardOrder } from "./guard-order.ts";
import { machineNow, untilMs } from "./machine-clock.ts";

/** The file descriptor by which the backup guard hears from the guard. */
const BACKUP = 3;
/** A backup guard that leaves so much unread stands still. */
const MOST_UNREAD_BYTES = 4_096;

/** What the guard tells the backup guard. None of it waits for an answer, or for the other end to read. */
export class BackupOrders {
  readonly #pipe: Socket | undefined;

  constructor() {
    try {
      this.#pipe = new Socket({ fd: BACKUP, readable: false, writable: true }).on("error", () => {});
      this.#pipe.unref();
    } catch {
      // There is no backup guard.
    }
  }

  /** Passes on what the backup guard needs of an order. */
  give({ termId, leader, killAt }: GuardOrder): void {
    if (!this.#pipe || this.#pipe.writableLength > MOST_UNREAD_BYTES) return;
    const until = Math.floor((uptime() * 1_000 + untilMs(killAt, machineNow())) / 10);
    this.#pipe.write(`${termId} ${Math.max(until, 0)}${leader ? ` ${leader.pid}` : ""}\n`);
  }

  /** Lets it go: the number of a group that is gone may soon be another's. */
  end(): void {
    if (!this.#pipe) return;
    try {
      writeSync(BACKUP, `${DONE}\n`);
    } catch {
      // It has ended.
    }
  }
}
