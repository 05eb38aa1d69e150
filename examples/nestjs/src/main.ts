import { Logger, type INestApplication } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { AppModule } from "./app.module.ts";
import { Billing } from "./billing.ts";

let app: INestApplication | undefined;
try {
  // With abortOnError, Nest would abort the process if a provider cannot be made, and print a stack of its own code.
  app = await NestFactory.create(AppModule, { abortOnError: false, logger: ["fatal", "error", "warn", "log"] });
  // On these signals Nest runs the providers' hooks, and then exits with code 0.
  app.enableShutdownHooks(["SIGTERM", "SIGINT"], { useProcessExit: true });
  await Promise.all([app.listen(Number(process.env["PORT"] ?? 3000)), app.get(Billing).ended]);
} catch (error) {
  new Logger("main").fatal(error instanceof Error ? error.message : error);
  await app?.close();
  process.exit(1);
}
