import { Payments } from "./payments.ts";
import { runProgram } from "./program.ts";
import { file } from "./settings.ts";
import { verdictOn } from "./verdict.ts";

await runProgram(async () => {
  await using payments = new Payments(file);
  console.table(payments.ledger());
  console.log(verdictOn(payments.ledger()));
});
