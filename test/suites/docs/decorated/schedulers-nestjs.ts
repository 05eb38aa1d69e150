import type { ClaimedLeadership } from "@leasehold/core";
import { OncePerTick } from "@leasehold/schedulers/nestjs";
import type { SqlLeaseStore } from "@leasehold/sql";
import { Injectable } from "@nestjs/common";

declare function closeTheBooks(scheduledMs: number, options: { signal: AbortSignal }): Promise<void>;

@Injectable()
export class Books {
  constructor(readonly store: SqlLeaseStore) {}

  @OncePerTick("0 3 * * *", { name: "close-the-books", timeZone: "Etc/UTC" }, (books: Books) => ({ store: books.store }))
  async close({ occurrence, signal }: ClaimedLeadership): Promise<void> {
    await closeTheBooks(occurrence.scheduledMs, { signal });
  }
}
