import { Injectable, type OnApplicationShutdown } from "@nestjs/common";
import { SqlLeaseStore } from "@leasehold/sql";

/** The store of all elections and schedules of this service: a SQLite file that all processes of this machine share. */
@Injectable()
export class LeaseStore extends SqlLeaseStore implements OnApplicationShutdown {
  constructor() {
    super({ sqlite: process.env["SQLITE_FILE"] ?? "books.db" });
  }

  /** Nest calls this last. This process no longer leads then. */
  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }
}
