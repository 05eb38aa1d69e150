import type { Leadership } from "@leasehold/core";
import type { SqlLeaseStore } from "@leasehold/sql";
import type { Sequelize } from "sequelize";

export async function bill(sequelize: Sequelize, store: SqlLeaseStore, leadership: Leadership): Promise<void> {
  await sequelize.transaction(async (transaction) => {
    const { text, values } = store.fenceSql(leadership);
    await sequelize.query(text, { bind: [...values], transaction });
    await sequelize.query("INSERT INTO bills VALUES ($1)", { bind: [leadership.election], transaction });
  });
}
