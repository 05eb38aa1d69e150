import type { ClaimedLeadership, LeaseStore } from "@leasehold/core";
import * as viaCron from "@leasehold/schedulers/cron";
import * as viaCroner from "@leasehold/schedulers/croner";
import type * as viaNestJs from "@leasehold/schedulers/nestjs";
import * as viaNodeCron from "@leasehold/schedulers/node-cron";
import * as viaNodeSchedule from "@leasehold/schedulers/node-schedule";
import type * as cron from "cron";
import type * as croner from "croner";
import type * as nodeCron from "node-cron";
import type * as nodeSchedule from "node-schedule";
import type { Host } from "./host.ts";

/** The work of a tick. It gets the time at which the tick was due. */
export type Work = (scheduledMs: number, leadership?: ClaimedLeadership) => Promise<void> | void;

export interface Job {
  readonly name: string;
  readonly pattern: string;
  readonly timeZone?: string;
  readonly work: Work;
  readonly options?: Partial<viaCron.TickOptions>;
}

/** Schedules a job on a host. Returns a function that stops the job. */
export type Adapter = (host: Host, job: Job) => Promise<() => unknown>;

function tickOptions({ store }: { readonly store: LeaseStore }, { name, options }: Job): viaCron.TickOptions {
  return { store, name, logger: false, ...options };
}

function work({ work: of }: Job): (leadership: ClaimedLeadership) => Promise<void> | void {
  return (leadership) => of(leadership.occurrence.scheduledMs, leadership);
}

const SILENT: nodeCron.Logger = { info() {}, warn() {}, error() {}, debug() {} };
const NODE_CRON = 'export * from "node-cron";';

export const viaWrappers = {
  async "node-cron"(host, job) {
    const { schedule } = await host.load<typeof nodeCron>(NODE_CRON);
    const timezone = job.timeZone ?? "Etc/UTC";
    const task = schedule(job.pattern, viaNodeCron.oncePerTick(tickOptions(host, job), work(job)), { timezone, logger: SILENT });
    return () => task.destroy();
  },
  async cron(host, job) {
    const { CronJob } = await host.load<typeof cron>('export * from "cron";');
    const started = CronJob.from({
      cronTime: job.pattern,
      timeZone: job.timeZone ?? "Etc/UTC",
      onTick: viaCron.oncePerTick(tickOptions(host, job), work(job)),
      errorHandler: () => undefined,
      start: true,
    });
    return () => started.stop();
  },
  async croner(host, job) {
    const { Cron } = await host.load<typeof croner>('export * from "croner";');
    const options = { timezone: job.timeZone ?? "Etc/UTC", catch: true };
    const started = new Cron(job.pattern, options, viaCroner.oncePerTick(tickOptions(host, job), work(job)));
    return () => started.stop();
  },
  async "node-schedule"(host, job) {
    const { scheduleJob } = await host.load<typeof nodeSchedule>('export * from "node-schedule";');
    const rule = { rule: job.pattern, tz: job.timeZone ?? "Etc/UTC" };
    const started = scheduleJob(rule, viaNodeSchedule.oncePerTick(tickOptions(host, job), work(job)));
    started.on("error", () => undefined);
    return () => started.cancel();
  },
  async NestJS(host, job) {
    const { start } = await host.load<{ start: (decorate: NestDecorate) => Promise<{ close: () => Promise<void> }> }>(NEST);
    const app = await start(({ OncePerTick }, prototype, descriptor) => {
      const { name: _, ...options } = tickOptions(host, job);
      const cronOptions = { name: job.name, timeZone: job.timeZone ?? "Etc/UTC" };
      Object.assign(descriptor, { value: work(job) });
      OncePerTick(job.pattern, cronOptions, () => options)(prototype, "work", descriptor);
    });
    return () => app.close();
  },
} satisfies Record<string, Adapter>;

type NestDecorate = (nest: typeof viaNestJs, prototype: object, descriptor: PropertyDescriptor) => void;

/** A service whose method is decorated by hand, as the compiler does it for the decorator's syntax. */
const NEST = `
  import "reflect-metadata";
  import { Injectable, Module } from "@nestjs/common";
  import { NestFactory } from "@nestjs/core";
  import { ScheduleModule } from "@nestjs/schedule";
  import * as ours from "@leasehold/schedulers/nestjs";
  export async function start(decorate) {
    class Books { work() {} }
    const descriptor = Object.getOwnPropertyDescriptor(Books.prototype, "work");
    decorate(ours, Books.prototype, descriptor);
    Object.defineProperty(Books.prototype, "work", descriptor);
    Injectable()(Books);
    class App {}
    Module({ imports: [ScheduleModule.forRoot()], providers: [Books] })(App);
    return await NestFactory.createApplicationContext(App, { logger: false });
  }
`;

/** node-cron's own coordination. It counts a failed run as done. */
export const viaCoordinator: Adapter = async (host, job) => {
  const { schedule } = await host.load<typeof nodeCron>(NODE_CRON);
  const runCoordinator = new viaNodeCron.RunClaims({ store: host.store, logger: false });
  const task = schedule(job.pattern, ({ date }) => job.work(date.getTime()), {
    name: job.name,
    timezone: job.timeZone ?? "Etc/UTC",
    distributed: true,
    runCoordinator,
    logger: SILENT,
  });
  return () => task.destroy();
};

export const ALL: Readonly<Record<string, Adapter>> = { ...viaWrappers, "node-cron's RunCoordinator": viaCoordinator };
