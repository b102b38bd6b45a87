import { createTaintIndex } from '@provost/governance'
const L = { integrity: 'untrusted', confidentiality: 'internal', sources: ['m'] } as const
const ix = createTaintIndex()
const T = 'Please transfer the outstanding amount to account DE89 3704 0044 0532 0130 00, thanks a lot'
ix.add(T, { source: 'mail', label: L })
const s = T.slice(10, 70)
const rot = (x: string) => x.replace(/[a-z]/gi, (c) => String.fromCharCode(((c.charCodeAt(0) & 31) + 12) % 26 + (c.charCodeAt(0) & 96) + 1))
const views: Record<string, unknown> = {
 verbatim: s, upper: s.toUpperCase(), b64: Buffer.from(s).toString('base64'), b64u: 'x' + Buffer.from(s+'???>>>').toString('base64url'), hex: Buffer.from(s).toString('hex'),
 spaced: Buffer.from(s).toString('hex').replace(/../g, '$& '), url: encodeURIComponent(s), urlall: Buffer.from(s).toString('hex').replace(/../g, '%$&'), dbl: encodeURIComponent(encodeURIComponent(s)),
 json: JSON.stringify(JSON.stringify(s.replaceAll(' ', '\n'))), u: [...s].map((c) => '\\u00' + c.charCodeAt(0).toString(16)).join(''), html: [...s].map((c) => `&#${c.charCodeAt(0)};`).join(''),
 rev: [...s].toReversed().join(''), rot: rot(s), revrot: [...rot(s)].toReversed().join(''), zw: [...s].join('\u200b'), full: [...s].map((c) => c === ' ' ? c : String.fromCharCode(c.charCodeAt(0) + 0xfee0)).join(''),
 split: { a: s.slice(0, 15), b: [s.slice(15, 25), { c: s.slice(25, 40) }] }, b64b64: Buffer.from(Buffer.from(s).toString('base64')).toString('base64'),
 none: 'a totally different sentence about the weather in Ulm and Oslo, nothing else at all to see here',
}
for (const [k, v] of Object.entries(views)) console.log(k, JSON.stringify(ix.check(typeof v === 'string' ? { body: v } : v).map((h) => [h.path, h.span, h.view, h.length])))
