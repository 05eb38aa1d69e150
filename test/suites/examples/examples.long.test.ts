import { afterAll } from "vitest";
import { workshop } from "./test.ts";
/*
 * Every example is installed from the packed packages, compiled, and run as its README says. This is one file, so that they are
 * packed once.
 */
import "./worker.ts";
import "./cron-job.ts";
import "./nestjs.ts";
import "./queue.ts";
import "./clouds.ts";
import "./azure.ts";
import "./google-cloud.ts";
import "./infra-aws.ts";

afterAll(async () => workshop[Symbol.asyncDispose]());
