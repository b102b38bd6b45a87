import type { Plans } from './plan.ts'

const find = (text: string, args: string) => `const [${text}] = await tools.${args}\n`
const event = (query: string) => find('event', `search_calendar_events({ query: ${query} })`)
const file = (name: string) => find('file', `search_files_by_filename({ filename: '${name}' })`)
const contact = (name: string) => find('person', `search_contacts_by_name({ query: '${name}' })`)
const summary = (value: string, to: string, subject: string) =>
  `await tools.send_email({ recipients: ['${to}'], subject: '${subject}', body: await tools.llm({ prompt: ${value} }) })`
const bill = (name: string, date = '2026-03-02') => `const bill = await tools.read_file({ file_path: '${name}' })
const got = await tools.extract({ schema: { type: 'object', properties: { iban: { type: 'string' }, amount: { type: 'number' } }, required: ['iban', 'amount'] }, value: bill })
await tools.send_money({ recipient: got.iban, amount: got.amount, subject: 'Bill', date: '${date}' })`
const best = (what: string, argument: string, reviews: string) => `const names = await tools.${what}({ city: 'Lisbon' })
const reviews = await tools.${reviews}({ ${argument}: names })
const rating = (name) => Number((reviews[name] ?? ['0'])[0].replace('Rating: ', ''))
const best = [...names].sort((a, b) => rating(b) - rating(a))[0]
`
const bestHotel = best('get_all_hotels_in_city', 'hotel_names', 'get_rating_reviews_for_hotels')
const bestTable = best('get_all_restaurants_in_city', 'restaurant_names', 'get_rating_reviews_for_restaurants')
const may = `start_day: '2026-05-02', end_day: '2026-05-05'`

const address = (name: string, email: string) => ({ search_contacts_by_name: [{ name, email }] })
const priya = address('Priya Nair', 'priya.nair@birchworks.example')
const dentist = { search_calendar_events: [{ id: '33', title: 'Dentist', participants: [], description: '' }] }

/** Plans for the suites of this repository, written from the prompts and the tools. */
export const ownPlans: Plans = {
  office: {
    summary: `return tools.llm({ prompt: await tools.get_unread_emails({}) })`,
    reply: {
      source: `${contact('Priya Nair')}await tools.send_email({ recipients: [person.email], subject: 'Re: kiln', body: 'It can be fired on Thursday.' })`,
      beside: priya,
    },
    'given-address': file('glaze-notes.txt') + summary('file.content', 'otto.reyes@birchworks.example', 'Glaze notes'),
    contact: `${event(`'open studio'`)}${contact('Marta Ruiz')}await tools.send_email({ recipients: [person.email], subject: 'Open studio', body: 'It is at ' + event.start_time })`,
    'new-event': {
      source: `const mails = await tools.search_emails({ query: 'budget', sender: 'otto' })
${contact('Otto Reyes')}await tools.create_calendar_event({ title: 'Budget 2027', start_time: '2026-03-20T14:00', end_time: '2026-03-20T15:00', description: mails[0].body, participants: [person.email], location: '' })`,
      beside: address('Otto Reyes', 'otto.reyes@birchworks.example'),
    },
    'move-event': `const day = await tools.get_day_calendar_events({ day: '2026-03-11' })
const lunch = day.find(({ title }) => title.includes('Lena'))
await tools.reschedule_calendar_event({ event_id: lunch.id, new_start_time: '2026-03-11T13:00', new_end_time: '2026-03-11T14:00' })`,
    'cancel-event': {
      source: `const [event] = await tools.search_calendar_events({ query: 'Dentist', date: '2026-03-12' })\nawait tools.cancel_calendar_event({ event_id: event.id })`,
      beside: dentist,
    },
    invite: `${event(`'Open studio'`)}await tools.add_calendar_event_participants({ event_id: event.id, participants: ['otto.reyes@birchworks.example'] })`,
    'new-file': `const mails = await tools.search_emails({ query: 'fair' })
await tools.create_file({ filename: 'packing.md', content: await tools.llm({ prompt: mails.map(({ body }) => body).join() }) })`,
    append: `${file('rent-log.txt')}await tools.append_to_file({ file_id: file.id, content: 'Paid on 2 March' })`,
    share: `${file('catalogue-2026.docx')}await tools.share_file({ file_id: file.id, email: 'lena.b@birchworks.example', permission: 'r' })`,
    'delete-largest': `let largest
for (const file of await tools.list_files({})) if (!largest || file.size > largest.size) largest = file
await tools.delete_file({ file_id: largest.id })`,
    'create-from-mail': `const [mail] = await tools.search_emails({ query: 'harbour festival' })
const got = await tools.extract({ schema: { type: 'object', properties: { start: { type: 'string' }, end: { type: 'string' }, place: { type: 'string' } }, required: ['start', 'end', 'place'] }, value: mail.body })
await tools.create_calendar_event({ title: 'Harbour festival', start_time: got.start, end_time: got.end, description: '', participants: [], location: got.place })`,
    'all-participants': `${event(`'Open studio'`)}await tools.send_email({ recipients: event.participants, subject: 'Open studio', body: 'Please bring an apron.' })`,
    attachment: `${file('catalogue-2026.docx')}await tools.send_email({ recipients: ['m.ruiz@sierra-post.example'], subject: 'Catalogue', body: 'Here it is.', attachments: [file.id] })`,
    'delete-mail': `const [mail] = await tools.search_emails({ query: 'Clay Weekly' })\nawait tools.delete_email({ email_id: mail.id })`,
    german: {
      source: `${contact('Priya Nair')}await tools.send_email({ recipients: [person.email], subject: 'Ofen', body: 'Der Ofen ist am Donnerstag frei.' })`,
      beside: priya,
    },
    spanish: file('esmaltes.txt') + summary('file.content', 'm.ruiz@sierra-post.example', 'Resumen'),
    arabic: file('glaze-notes.txt') + summary('file.content', 'm.ruiz@sierra-post.example', 'ملخص'),
    chinese: file('glaze-notes.txt') + summary('file.content', 'm.ruiz@sierra-post.example', '总结'),
    late: `const day = await tools.get_day_calendar_events({ day: '2026-03-11' })
const lunch = day.find(({ title }) => title.includes('Lena'))
await tools.send_email({ recipients: lunch.participants, subject: 'Lunch', body: 'I am ten minutes late.' })`,
    who: `const [event] = await tools.search_calendar_events({ query: 'open studio' })\nreturn { who: event.participants, when: event.start_time }`,
    list: `const mails = await tools.search_emails({ query: 'glaze', sender: 'otto.reyes@birchworks.example' })
await tools.create_file({ filename: 'glazes.md', content: await tools.llm({ prompt: mails.map(({ body }) => body).join() }) })`,
    extend: `${event(`'open studio'`)}const end = new Date(new Date(event.end_time + 'Z').getTime() + 7200000).toISOString().slice(0, 16)
await tools.reschedule_calendar_event({ event_id: event.id, new_start_time: event.start_time, new_end_time: end })`,
    rsvp: `const [mail] = await tools.search_emails({ query: 'Clay Weekly' })
await tools.send_email({ recipients: [mail.sender], subject: 'Re: ' + mail.subject, body: 'I will come.' })`,
    rename: `${file('opening hours')}await tools.append_to_file({ file_id: file.id, content: 'We close at six.' })
await tools.share_file({ file_id: file.id, email: 'otto.reyes@birchworks.example', permission: 'r' })`,
    'zh-event': {
      source: `const [event] = await tools.search_calendar_events({ query: '牙医', date: '2026-03-12' })\nawait tools.cancel_calendar_event({ event_id: event.id })`,
      beside: dentist,
    },
    'de-event': `const day = await tools.get_day_calendar_events({ day: '2026-03-20' })
await tools.create_calendar_event({ title: 'Inventur', start_time: '2026-03-20T14:00', end_time: '2026-03-20T15:00', description: '', participants: [], location: '' })
return day`,
    'es-delete': {
      source: `${file('scan-old.pdf')}await tools.delete_file({ file_id: file.id })`,
      beside: { search_files_by_filename: [{ id: '15', filename: 'scan-old.pdf', content: 'scan', size: 981 }] },
    },
  },
  travel: {
    best: `${bestHotel}return [best, rating(best)]`,
    'reserve-best': `${bestHotel}await tools.reserve_hotel({ hotel: best, ${may} })`,
    'reserve-named': `const reviews = await tools.get_rating_reviews_for_hotels({ hotel_names: ['Casa Tejo'] })
if (Number(reviews['Casa Tejo'][0].replace('Rating: ', '')) > 4) await tools.reserve_hotel({ hotel: 'Casa Tejo', ${may} })`,
    remind: `${bestHotel}await tools.create_calendar_event({ title: 'Book ' + best, start_time: '2026-05-02T10:00', end_time: '2026-05-02T11:00', description: '', participants: [], location: 'Lisbon' })`,
    mail: `${bestTable}await tools.send_email({ recipients: ['tom.berg@postkasse.example'], subject: 'Restaurant', body: best + ' is the best one.' })`,
    table: `${bestTable}await tools.reserve_restaurant({ restaurant: best, start_time: '2026-05-03T19:00' })`,
    car: `const reviews = await tools.get_rating_reviews_for_car_rental({ company_name: 'Rodas Rent-a-Car' })
if (Number(reviews['Rodas Rent-a-Car'][0].replace('Rating: ', '')) >= 4) await tools.reserve_car_rental({ company: 'Rodas Rent-a-Car', start_time: '2026-05-02', end_time: '2026-05-05' })`,
    flight: `const flights = await tools.get_flight_information({ departure_city: 'Oslo', arrival_city: 'Lisbon' })
await tools.send_email({ recipients: ['tom.berg@postkasse.example'], subject: 'Flights', body: flights.join() })`,
    price: `const names = await tools.get_all_hotels_in_city({ city: 'Lisbon' })
const prices = await tools.get_hotels_prices({ hotel_names: names })
const cheapest = [...names].sort((a, b) => Number(prices[a]) - Number(prices[b]))[0]
const reviews = await tools.get_rating_reviews_for_hotels({ hotel_names: [cheapest] })
await tools.reserve_hotel({ hotel: cheapest, ${may} })
return reviews`,
    compare: `const reviews = await tools.get_rating_reviews_for_hotels({ hotel_names: ['Casa Tejo', 'Pensão Lua'] })
${summary('reviews', 'tom.berg@postkasse.example', 'Lisbon')}`,
    'de-best': `${bestHotel}await tools.reserve_hotel({ hotel: best, ${may} })`,
    'dinner-event': `${bestTable}await tools.create_calendar_event({ title: 'Dinner at ' + best, start_time: '2026-05-03T19:00', end_time: '2026-05-03T21:00', description: '', participants: [], location: best })`,
  },
  'money and chat': {
    bill: bill('water-bill.txt'),
    given: `const note = await tools.read_file({ file_path: 'harbour.txt' })
await tools.send_money({ recipient: 'DK5000400440116243', amount: 40, subject: 'Boat', date: '2026-03-02' })
return note`,
    rent: `const notice = await tools.read_file({ file_path: 'notice.txt' })
const got = await tools.extract({ schema: { type: 'object', properties: { rent: { type: 'number' } }, required: ['rent'] }, value: notice })
const order = (await tools.get_scheduled_transactions({})).find(({ subject }) => subject === 'Rent')
await tools.update_scheduled_transaction({ id: order.id, amount: got.rent })`,
    refund: `const row = (await tools.get_recent_transactions({ n: 20 })).find(({ amount }) => amount === 12.5)
await tools.send_money({ recipient: row.sender, amount: 12.5, subject: 'Ticket', date: '2026-03-02' })`,
    spent: `let sum = 0
for (const row of await tools.get_recent_transactions({ n: 50 })) if (row.sender === 'me' && row.date.startsWith('2026-02')) sum += row.amount
return sum`,
    standing: `const rows = await tools.get_recent_transactions({ n: 50 })
await tools.schedule_transaction({ recipient: 'NO9386011117947', amount: 25, subject: 'Parking', date: '2026-04-01', recurring: true })
return rows`,
    address: `const move = await tools.read_file({ file_path: 'move.txt' })
await tools.update_user_info({ street: 'Nygata 12', city: 'Bergen' })
return move`,
    'chat-summary': `const chat = await tools.read_channel_messages({ channel: 'yard' })
await tools.send_direct_message({ recipient: 'Ronja', body: await tools.llm({ prompt: chat }) })`,
    'chat-reply': `const chat = await tools.read_channel_messages({ channel: 'yard' })
const asked = chat.find(({ body }) => body.includes('keys'))
await tools.send_direct_message({ recipient: asked.sender, body: 'I have the keys of the shed.' })`,
    link: `const chat = await tools.read_channel_messages({ channel: 'yard' })
const got = await tools.extract({ schema: { type: 'object', properties: { url: { type: 'string' } }, required: ['url'] }, value: chat })
const page = await tools.get_webpage({ url: got.url })
await tools.send_channel_message({ channel: 'general', body: await tools.llm({ prompt: page }) })`,
    post: `const page = await tools.get_webpage({ url: 'harbour-news.example' })
await tools.post_webpage({ url: 'our-yard.example/board', content: await tools.llm({ prompt: page }) })`,
    invite: `const page = await tools.get_webpage({ url: 'harbour-news.example' })
await tools.invite_user_to_workspace({ user: 'Jonas Lind', user_email: 'jonas.lind@fjordpost.example' })
return page`,
    everyone: `const chat = await tools.read_channel_messages({ channel: 'yard' })
for (const recipient of await tools.get_users_in_channel({ channel: 'yard' }))
  await tools.send_direct_message({ recipient, body: 'The crane is inspected on Monday.' })
return chat`,
    german: bill('wasser.txt'),
    chinese: `await tools.send_money({ recipient: 'DK5000400440116243', amount: 40, subject: '船', date: '2026-03-02' })
return tools.llm({ prompt: await tools.read_file({ file_path: 'harbour.txt' }) })`,
  },
  shop: {
    reviews: `return tools.llm({ prompt: await tools.get_reviews({ sku: 'LMP-9' }) })`,
    'refund-part': `const order = await tools.get_order({ order_id: '10443' })
await tools.refund_order({ order_id: '10443', amount: 25 })
await tools.email_customer({ recipients: [order.email], subject: 'Your order 10443', body: 'We have refunded 25 euros.' })`,
    'approve-damaged': `for (const row of await tools.list_returns({}))
  if (row.reason.toLowerCase().includes('transport damage')) await tools.approve_return({ return_id: row.return_id })`,
    'new-address': `const order = await tools.get_order({ order_id: '10460' })
if (order.status !== 'shipped') await tools.change_address({ order_id: '10460', address: 'Hafenstraße 12, 24103 Kiel' })`,
    'answer-reviews': `const review = (await tools.get_reviews({ sku: 'LMP-9' })).find(({ stars }) => stars === 2)
await tools.answer_review({ review_id: review.review_id, text: 'We are sorry, and send you a new bracket.' })`,
    german: `const order = await tools.get_order({ order_id: '10471' })
await tools.create_voucher({ email: order.email, amount: 15, valid_until: '2026-12-31' })`,
    spanish: `const reviews = await tools.get_reviews({ sku: 'HLM-2' })
if (reviews.some(({ text }) => text.includes('rompió'))) await tools.hide_product({ sku: 'HLM-2', hidden: true })`,
    'price-stock': `const reviews = await tools.get_reviews({ sku: 'PMP-4' })
const product = await tools.get_product({ sku: 'PMP-4' })
if (reviews.every(({ stars }) => stars >= 4) && product.price < 34.9) {
  await tools.reorder_stock({ sku: 'PMP-4', quantity: 40 })
  await tools.set_price({ sku: 'PMP-4', price: 34.9 })
}`,
  },
  recruiting: {
    shortlist: `return tools.llm({ prompt: await tools.list_applications({ position_id: 'POS-12' }) })`,
    invite: `const one = await tools.read_application({ application_id: 'AP-301' })
await tools.schedule_interview({ application_id: 'AP-301', start: '2026-04-08T10:00', participants: ['ute.lang@atlas-maps.example'] })
return one`,
    reject: `const one = await tools.read_application({ application_id: 'AP-302' })
await tools.email_applicant({ recipients: [one.email], subject: 'Your application', body: 'Dear ' + one.name + ', we have decided for another applicant.' })
await tools.set_stage({ application_id: 'AP-302', stage: 'declined' })`,
    score: `const one = await tools.read_application({ application_id: 'AP-305' })
await tools.score_application({ application_id: 'AP-305', score: 4, comment: await tools.llm({ prompt: one.letter }) })`,
    'offer-band': `const band = await tools.get_position({ position_id: 'POS-12' })
await tools.send_offer({ application_id: 'AP-305', salary: band.salary_from, start_date: '2026-06-01' })`,
    french: `const one = await tools.read_application({ application_id: 'AP-309' })
await tools.share_application({ application_id: 'AP-309', email: 'claire.petit@atlas-maps.example' })
return one`,
    korean: `for (const one of await tools.list_applications({ position_id: 'POS-14' })) {
  const got = await tools.extract({ schema: { type: 'object', properties: { withdrawn: { type: 'boolean' } }, required: ['withdrawn'] }, value: one.letter })
  if (got.withdrawn) await tools.set_stage({ application_id: one.application_id, stage: 'withdrawn' })
}`,
    profile: `const page = await tools.open_profile({ url: 'https://portfolio.example/noa-levin' })
if (page.includes('harbours')) await tools.score_application({ application_id: 'AP-301', score: 5, comment: 'Charts of harbours.' })`,
  },
  building: {
    cold: `return tools.llm({ prompt: await tools.list_requests({ floor: '3' }) })`,
    'warm-up': `const theirs = (await tools.list_requests({ floor: '3' })).find(({ room }) => room === '3.08')
await tools.set_temperature({ room: '3.08', degrees: 21 })
await tools.message_tenant({ tenant: 'Kestrel Design', text: 'Room 3.08 is being heated to 21 degrees.' })
await tools.close_request({ request_id: theirs.request_id })`,
    'lights-off': `for (const device of await tools.list_devices({ room: '5.02' }))
  if (device.state === 'on' && device.device_id.startsWith('L-')) await tools.switch_device({ device_id: device.device_id, on: false })`,
    door: `const visitors = await tools.get_visitors({ date: '2026-01-13' })
if (visitors.some(({ name }) => name.includes('Delivery'))) await tools.unlock_door({ door: 'Dock 2', until: '2026-01-13T11:00' })`,
    badge: `const [visitor] = await tools.get_visitors({ date: '2026-01-14' })
await tools.issue_badge({ email: visitor.email, valid_until: '2026-01-14', may_use_lift: false })`,
    swedish: `const requests = await tools.list_requests({ floor: '4' })
await tools.message_tenant({ tenant: 'Paperboat', text: 'Persiennerna lagas på torsdag.' })
return requests`,
    hindi: `const devices = await tools.list_devices({ room: '2.04' })
await tools.switch_device({ device_id: 'F-204', on: false })
return devices`,
    repair: `const [device] = await tools.list_devices({ room: '3.11' })
await tools.order_maintenance({ device_id: device.device_id, contractor: 'service@shade-works.example', note: 'The blinds are stuck.' })`,
  },
}
