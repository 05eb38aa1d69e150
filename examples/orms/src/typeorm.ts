import { DataSource, EntitySchema } from "typeorm";
import { lead, store, url } from "./lead.ts";

const Bill = new EntitySchema<{ id: number; term: number }>({
  name: "bills",
  columns: { id: { type: Number, primary: true, generated: true }, term: { type: Number } },
});
const dataSource = await new DataSource({ type: "postgres", url, entities: [Bill] }).initialize();

await lead(
  async (leadership) => {
    await dataSource.transaction(async (manager) => {
      const { text, values } = store.fenceSql(leadership);
      await manager.query(text, [...values]);
      await manager.insert(Bill, { term: leadership.term });
    });
  },
  () => dataSource.destroy(),
);
