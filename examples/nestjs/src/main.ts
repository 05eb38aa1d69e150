import { Logger, type INestApplication } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { AppModule } from "./app.module.ts";
import { Billing } from "./billing.ts";

let app: INestApplication | undefined;
try {
  // Else Nest aborts the process by itself where a provider cannot be made, and prints where in its own code that was.
  app = await NestFactory.create(AppModule, { abortOnError: false, logger: ["fatal", "error", "warn", "log"] });
  // On these signals the hooks of the providers run, and then the process exits with code 0.
  app.enableShutdownHooks(["SIGTERM", "SIGINT"], { useProcessExit: true });
  await Promise.all([app.listen(Number(process.env["PORT"] ?? 3000)), app.get(Billing).ended]);
} catch (error) {
  new Logger("main").fatal(error instanceof Error ? error.message : error);
  await app?.close();
  process.exit(1);
}
