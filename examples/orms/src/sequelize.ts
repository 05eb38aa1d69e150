import { DataTypes, Sequelize } from "sequelize";
import { lead, store, url } from "./lead.ts";

const sequelize = new Sequelize(url, { logging: false });
const Bill = sequelize.define("bills", { term: DataTypes.INTEGER }, { timestamps: false });

await lead(
  async (leadership) => {
    await sequelize.transaction(async (transaction) => {
      const { text, values } = store.fenceSql(leadership);
      await sequelize.query(text, { bind: [...values], transaction });
      await Bill.create({ term: leadership.term }, { transaction });
    });
  },
  () => sequelize.close(),
);
