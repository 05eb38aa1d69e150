import { Pool } from "pg";
import { store, url } from "./lead.ts";

const pool = new Pool({ connectionString: url });
await pool.query("CREATE TABLE IF NOT EXISTS bills (id serial PRIMARY KEY, term integer NOT NULL)");
await store.migrate();
await pool.end();
await store.close();
