/** The ORMs of orms.md on PostgreSQL, each with its code there. */
import type { Leadership } from "@leasehold/core";
import type { SqlLeaseStore } from "@leasehold/sql";
import { drizzle } from "drizzle-orm/node-postgres";
import knexOf from "knex";
import { Kysely, PostgresDialect } from "kysely";
import { Pool } from "pg";
import { Sequelize } from "sequelize";
import { DataSource } from "typeorm";
import * as onDrizzle from "./drizzle.ts";
import * as onKnex from "./knex.ts";
import * as onKysely from "./kysely.ts";
import * as onPrisma from "./prisma.ts";
import * as onSequelize from "./sequelize.ts";
import * as onTypeOrm from "./typeorm.ts";

export type Bill = (store: SqlLeaseStore, leadership: Leadership) => Promise<void>;

/** An ORM on a database: its guarded write, and the table that gets the row. */
export interface Client {
  readonly bill: Bill;
  readonly table?: string;
  readonly close: () => Promise<unknown>;
}

export const CLIENTS: Readonly<Record<string, (url: string) => Promise<Client> | Client>> = {
  Kysely(url) {
    const dialect = new PostgresDialect({ pool: new Pool({ connectionString: url, max: 2 }) });
    const db = new Kysely<{ bills: { election: string } }>({ dialect });
    return { bill: async (...leading) => onKysely.bill(db, ...leading), close: () => db.destroy() };
  },
  Knex(url) {
    const knex = knexOf({ client: "pg", connection: url, pool: { min: 0, max: 2 } });
    return { bill: async (...leading) => onKnex.bill(knex, ...leading), close: () => knex.destroy() };
  },
  Drizzle(url) {
    const pool = new Pool({ connectionString: url, max: 2 });
    const db = drizzle(pool);
    return { bill: async (...leading) => onDrizzle.bill(db, ...leading), close: () => pool.end() };
  },
  async TypeORM(url) {
    const dataSource = new DataSource({ type: "postgres", url, entities: [onTypeOrm.Bill], synchronize: true });
    await dataSource.initialize();
    const bill: Bill = async (...leading) => onTypeOrm.bill(dataSource, ...leading);
    return { bill, table: "typeorm_bills", close: () => dataSource.destroy() };
  },
  Sequelize(url) {
    const sequelize = new Sequelize(url, { logging: false, pool: { max: 2 } });
    return { bill: async (...leading) => onSequelize.bill(sequelize, ...leading), close: () => sequelize.close() };
  },
};

/** Opens the client of Prisma that `npm run drivers` has generated. */
export async function openPrisma(module: string, url: string): Promise<Client> {
  const prisma = ((await import(module)) as { open(url: string): onPrisma.PrismaClient }).open(url);
  return { bill: async (...leading) => onPrisma.bill(prisma, ...leading), close: () => prisma.$disconnect() };
}
