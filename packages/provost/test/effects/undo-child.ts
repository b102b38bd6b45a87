// Another process that compensates a session and dies: node undo-child.ts SITE BANK SESSION MOMENT
import { crashAt } from '@provost/testing'

import { openStore } from './effect-site.ts'
import { compensateAll, undoDesk } from './undo-site.ts'

const [site = '', bank = '', sessionId = '', at = ''] = process.argv.slice(2)
await compensateAll(undoDesk(bank, openStore(JSON.parse(site)), crashAt(JSON.parse(at))), sessionId)
