import "reflect-metadata";
import { setTimeout as pass } from "node:timers/promises";
import { oncePerOccurrence, type ClaimedLeadership } from "@leasehold/core";
import * as byCron from "@leasehold/schedulers/cron";
import * as byCroner from "@leasehold/schedulers/croner";
import { OncePerTick } from "@leasehold/schedulers/nestjs";
import * as byNodeCron from "@leasehold/schedulers/node-cron";
import { SqlLeaseStore } from "@leasehold/sql";
import { Injectable, Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { ScheduleModule } from "@nestjs/schedule";
import { CronJob } from "cron";
import { Cron } from "croner";
import { schedule } from "node-cron";
import type { TickDone } from "./host-process.ts";

const EVERY_SECOND = "* * * * * *";
const SECOND_MS = 1_000;
const WORK_MS = 80;
const UTC = "Etc/UTC";

/** Schedules a job of 80 ms with each adapter, every second, until the process is stopped from outside. */
export async function runJobs(file: string): Promise<void> {
  const store = new SqlLeaseStore({ sqlite: file });
  const tick = (name: string): byCron.TickOptions => ({ store, name });
  schedule(EVERY_SECOND, byNodeCron.oncePerTick(tick("node-cron"), worker("node-cron")), { timezone: UTC });
  schedule(EVERY_SECOND, async ({ date }) => await work("coordinator", date.getTime()), {
    name: "coordinator",
    timezone: UTC,
    distributed: true,
    runCoordinator: new byNodeCron.RunClaims({ store }),
  });
  CronJob.from({
    cronTime: EVERY_SECOND,
    timeZone: UTC,
    onTick: byCron.oncePerTick(tick("cron"), worker("cron")),
    start: true,
  });
  void new Cron(EVERY_SECOND, { timezone: UTC }, byCroner.oncePerTick(tick("croner"), worker("croner")));
  await startNest(store);
  await fireByHand(store);
}

function worker(adapter: string): (leadership: ClaimedLeadership) => Promise<void> {
  return async ({ occurrence }) => await work(adapter, occurrence.scheduledMs);
}

async function work(adapter: string, scheduledMs: number): Promise<void> {
  await pass(WORK_MS);
  console.log(JSON.stringify({ adapter, scheduledMs } satisfies TickDone));
}

/** Decorated by hand, as the compiler does it for the decorator's syntax. */
async function startNest(store: SqlLeaseStore): Promise<void> {
  class Books {
    readonly close = worker("NestJS");
    everySecond(leadership: ClaimedLeadership): Promise<void> {
      return this.close(leadership);
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(Books.prototype, "everySecond") as PropertyDescriptor;
  OncePerTick(EVERY_SECOND, { name: "NestJS", timeZone: UTC }, { store })(Books.prototype, "everySecond", descriptor);
  Object.defineProperty(Books.prototype, "everySecond", descriptor);
  Injectable()(Books);
  class App {
    readonly name = "jobs";
  }
  Module({ imports: [ScheduleModule.forRoot()], providers: [Books] })(App);
  await NestFactory.createApplicationContext(App, { logger: false });
}

/** A scheduler of a few lines. */
async function fireByHand(store: SqlLeaseStore): Promise<never> {
  for (let dueMs = Math.ceil(Date.now() / SECOND_MS) * SECOND_MS; ; dueMs += SECOND_MS) {
    await pass(Math.max(dueMs - Date.now(), 0));
    const options = { store, name: "by hand", scheduledAt: dueMs, whenInProgress: "wait" } as const;
    oncePerOccurrence(options, worker("by hand")).catch(console.error);
  }
}
