import { Payments } from "./payments.ts";
import { runProgram } from "./program.ts";
import { file } from "./settings.ts";

await runProgram(async () => {
  const count = Number(process.argv[2] ?? 10);
  if (!Number.isSafeInteger(count) || count < 1) throw new Error("Say how many payments to add: npm run add -- 20");
  await using payments = new Payments(file);
  for (let number = 1; number <= count; number += 1) payments.add(number);
  console.log(`${count} payments more wait in ${file}`);
});
