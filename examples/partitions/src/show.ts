import { readFleet } from "@leasehold/fleet";
import { Orders } from "./orders.ts";
import { runProgram } from "./program.ts";
import { databaseUrl } from "./settings.ts";

await runProgram(async () => {
  await using orders = new Orders(databaseUrl());
  const { members } = await readFleet(orders.store, "orders");
  console.table(members.map(({ memberId, state, shards }) => ({ memberId, state, shards })));
  const { waiting, ordered, booked, bookings, orders: applied } = await orders.totals();
  console.log(`${waiting} orders wait, ${applied} are applied`);
  if (booked !== ordered || bookings !== applied) {
    throw new Error(`the orders say ${ordered} cents in ${applied} orders, the accounts ${booked} in ${bookings}`);
  }
  console.log(`the accounts are exact: ${booked} cents in ${bookings} orders`);
});
