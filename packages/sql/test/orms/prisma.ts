import type { Leadership } from "@leasehold/core";
import type { SqlLeaseStore } from "@leasehold/sql";

/** The part of a generated client that `bill` uses. `npm run drivers` generates one. */
export interface PrismaClient {
  $executeRawUnsafe(text: string, ...values: readonly unknown[]): Promise<number>;
  $transaction(statements: readonly Promise<unknown>[]): Promise<unknown>;
  $disconnect(): Promise<void>;
  readonly bills: { create(row: { readonly data: { readonly election: string } }): Promise<unknown> };
}

export async function bill(prisma: PrismaClient, store: SqlLeaseStore, leadership: Leadership): Promise<void> {
  const { text, values } = store.fenceSql(leadership);
  await prisma.$transaction([
    prisma.$executeRawUnsafe(text, ...values),
    prisma.bills.create({ data: { election: leadership.election } }),
  ]);
}
