import { afterAll } from "vitest";
import { workshop } from "./test.ts";
/*
 * Installs the examples from the packed packages, compiles each, and runs it as its README says. This is one file, so that
 * the packages are packed once and the examples are installed once. All tests run at once, because most of a test is waiting.
 */
import "./worker.ts";
import "./cron-job.ts";
import "./nestjs.ts";
import "./queue.ts";
import "./partitions.ts";
import "./orms.ts";
import "./clouds.ts";
import "./azure.ts";
import "./google-cloud.ts";
import "./infra-aws.ts";
import "./imports.ts";

afterAll(async () => workshop[Symbol.asyncDispose]());
