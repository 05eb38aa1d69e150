import { setTimeout as delay } from "node:timers/promises";
import { isLeaseholdError, type Leadership } from "@leasehold/core";
import type { Payments } from "./payments.ts";
import { prepare } from "./prepare.ts";

/** Applies the payments one after the other, for as long as this process leads. */
export async function drain(payments: Payments, leadership: Leadership): Promise<void> {
  const { signal, term } = leadership;
  while (!signal.aborted) {
    const payment = payments.next();
    if (!payment) {
      await delay(500, undefined, { signal });
      continue;
    }
    console.log(`term ${term}: preparing payment ${payment.id}`);
    await prepare(payment);
    try {
      const { balance } = await payments.apply(payment, leadership);
      console.log(`term ${term}: applied payment ${payment.id}, the balance is ${balance}`);
    } catch (error) {
      if (!isLeaseholdError(error, "FENCED")) throw error;
      // Another process leads. If this one was frozen, its signal may not have aborted yet.
      console.log(`term ${term}: refused payment ${payment.id}. ${error.message}`);
      return;
    }
  }
}
