#!/usr/bin/env node
import { main } from '@provost/cli'

await main(process.argv.slice(2))
