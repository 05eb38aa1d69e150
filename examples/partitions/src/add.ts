import { Orders } from "./orders.ts";
import { runProgram } from "./program.ts";
import { databaseUrl } from "./settings.ts";

await runProgram(async () => {
  const count = Number(process.argv[2] ?? 100);
  if (!Number.isSafeInteger(count) || count < 1) throw new Error("Say how many orders to add: npm run add -- 100");
  await using orders = new Orders(databaseUrl());
  for (let number = 1; number <= count; number += 1) await orders.add(`account-${number % 40}`, number);
  console.log(`${count} orders more wait`);
});
