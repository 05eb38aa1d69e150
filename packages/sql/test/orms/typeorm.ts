import type { Leadership } from "@leasehold/core";
import type { SqlLeaseStore } from "@leasehold/sql";
import { EntitySchema, type DataSource } from "typeorm";

export const Bill = new EntitySchema<{ id: number; election: string }>({
  name: "typeorm_bills",
  columns: { id: { type: Number, primary: true, generated: true }, election: { type: String } },
});

export async function bill(dataSource: DataSource, store: SqlLeaseStore, leadership: Leadership): Promise<void> {
  await dataSource.transaction(async (manager) => {
    const { text, values } = store.fenceSql(leadership);
    await manager.query(text, [...values]);
    await manager.insert(Bill, { election: leadership.election });
  });
}
