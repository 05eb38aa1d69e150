import { pino } from "pino";
import { openStore } from "./store.ts";

// Creates the tables, unless they exist. Run it once for each database, with the right to do so. SQLite does not need it.
const log = pino();
try {
  await using store = openStore();
  await store.migrate();
  log.info("the tables are there");
} catch (error) {
  log.fatal(error);
  process.exitCode = 1;
}
