import { Orders } from "./orders.ts";
import { runProgram } from "./program.ts";
import { databaseUrl } from "./settings.ts";

// Creates the tables, unless they exist. Run it once for each database, with the right to do so.
await runProgram(async () => {
  await using orders = new Orders(databaseUrl());
  await orders.prepare();
  console.log("the tables are there");
});
