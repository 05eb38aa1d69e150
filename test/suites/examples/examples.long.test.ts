import { afterAll } from "vitest";
import { workshop } from "./test.ts";
/*
 * The examples are installed from the packed packages, each is compiled, and run as its README says. This is one file, so that
 * the packages are packed once, and the examples installed once. Nearly all of a test is waiting, so all run at once.
 */
import "./worker.ts";
import "./cron-job.ts";
import "./nestjs.ts";
import "./queue.ts";
import "./clouds.ts";
import "./azure.ts";
import "./google-cloud.ts";
import "./infra-aws.ts";
import "./imports.ts";

afterAll(async () => workshop[Symbol.asyncDispose]());
